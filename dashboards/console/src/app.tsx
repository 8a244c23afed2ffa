/** Root of the console: frame, menu, and routing. */

import { Component, type ComponentChildren, type FunctionComponent } from 'preact';
import { Suspense, lazy } from 'preact/compat';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Route, Router, Switch, useLocation } from 'wouter-preact';
import { usePath } from './address';
import { Fault } from './pieces/notices';
import { Page } from './pieces/page';
import { Stored } from './pieces/text';
import { isRestoring, login, logOut } from './session';
import { ready, watchReady } from './standing';
import { forgetVisits } from './visited';
import { Home } from './pages/home';
import { LogIn, Register } from './pages/login';

type Pages = Record<string, FunctionComponent<{ id: string }>>;

/** A page whose code is loaded on first use. */
const later = (load: () => Promise<object>, name: string): FunctionComponent<{ id: string }> =>
  lazy(async () => ({ default: (await load() as Pages)[name] as FunctionComponent<{ id: string }> }));

const objects = () => import('./pages/objects');
const templates = () => import('./pages/templates');
const log = () => import('./pages/log');
const anchors = () => import('./pages/anchors');
const actions = () => import('./pages/actions');
const webhooks = () => import('./pages/webhooks');
const disputes = () => import('./pages/disputes');
const files = () => import('./pages/files');

interface Entry {
  readonly path: string;
  readonly name?: string;
  readonly page: FunctionComponent<{ id: string }>;
  /** Whether the page needs no login. */
  readonly isPublic?: boolean;
}

/** The operator's page has a separate listener, whose address leads here. That listener has no API. */
const isOperators = location.hash === '#/operator';

const OPERATOR: Entry = { path: '/operator', name: 'Operator', page: later(() => import('./pages/operator'), 'Operator'), isPublic: true };

const GROUPS: readonly { readonly title: string; readonly entries: readonly Entry[] }[] = [
  {
    title: 'Objects',
    entries: [
      { path: '/objects', name: 'Objects', page: later(objects, 'Objects') },
      { path: '/objects/:id', page: later(objects, 'OneObject') },
      { path: '/templates', name: 'Templates', page: later(templates, 'Templates') },
      { path: '/templates/:id', page: later(templates, 'OneTemplate') },
      { path: '/actions', name: 'Actions', page: later(actions, 'Actions') },
      { path: '/actions/:id', page: later(actions, 'OneAction') },
      { path: '/files', name: 'Files', page: later(files, 'Files') },
      { path: '/files/:id', page: later(files, 'OneFile') },
      { path: '/events', name: 'Live events', page: later(() => import('./pages/events'), 'Events') },
    ],
  },
  {
    title: 'The log',
    entries: [
      { path: '/check', name: 'Check it yourself', page: later(() => import('./pages/check'), 'Check'), isPublic: true },
      { path: '/batches', name: 'Batches', page: later(log, 'Batches'), isPublic: true },
      { path: '/batches/:id', page: later(log, 'OneBatch'), isPublic: true },
      { path: '/anchors', name: 'Anchors', page: later(anchors, 'Anchors'), isPublic: true },
      { path: '/anchors/:id', page: later(anchors, 'OneAnchor'), isPublic: true },
      { path: '/disputes', name: 'Disputes', page: later(disputes, 'Disputes') },
      { path: '/disputes/:id', page: later(disputes, 'OneDispute') },
    ],
  },
  {
    title: 'Organization',
    entries: [
      { path: '/usage', name: 'Usage', page: later(() => import('./pages/usage'), 'Usage') },
      { path: '/members', name: 'Members', page: later(() => import('./pages/members'), 'Members') },
      { path: '/keys', name: 'API keys', page: later(() => import('./pages/keys'), 'Keys') },
      { path: '/webhooks', name: 'Webhooks', page: later(webhooks, 'Webhooks') },
      { path: '/webhooks/:id', page: later(webhooks, 'OneWebhook') },
      { path: '/wallet', name: 'Your wallet', page: later(() => import('./pages/wallet'), 'OwnWallet') },
    ],
  },
];

/** The pages that the search finds by name. */
const NAMED = GROUPS.flatMap(({ entries }) => entries).flatMap(({ path, name }) => (name === undefined ? [] : [{ path, name }]));

const Search = lazy(async () => ({ default: (await import('./pieces/search')).Search }));

/** Shows errors of rendering, such as a script that failed to load. */
class Barrier extends Component<{ children: ComponentChildren }, { error: unknown }> {
  override state = { error: null };

  static override getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error };
  }

  override render(): ComponentChildren {
    if (this.state.error === null) return this.props.children;
    return (
      <Page title="This page failed" isListed={false}>
        <Fault error={this.state.error} />
        <p>
          <a href={location.pathname}>Load the console again</a>
        </p>
      </Page>
    );
  }
}

function NeedsLogin() {
  return (
    <Page title="Log in first" isListed={false} lead="This page shows what belongs to an organization.">
      <p class="row">
        <a class="button main" href="#/login">
          Log in
        </a>
        <a class="button" href="#/register">
          Register
        </a>
      </p>
    </Page>
  );
}

function shown({ page: Shown, isPublic }: Entry, { id = '' }: { id?: string }): ComponentChildren {
  if (isPublic !== true && login.value === null) return isRestoring.value ? <p class="faint">Reading…</p> : <NeedsLogin />;
  // Another id is another page: no state of the old one remains.
  return <Shown key={`${id} ${login.value?.wallet.id}`} id={id} />;
}

function Menu({ onChoice }: { onChoice: () => void }) {
  const [path] = useLocation();
  const isHere = (entry: string): boolean => path === entry || path.startsWith(`${entry}/`);
  if (isOperators) {
    return (
      <nav aria-label="Pages" onClick={onChoice}>
        <a href="#/operator" aria-current={isHere('/operator') ? 'page' : undefined}>
          Operator
        </a>
      </nav>
    );
  }
  return (
    <nav aria-label="Pages" onClick={onChoice}>
      <a href="#/" aria-current={path === '/' ? 'page' : undefined}>
        Overview
      </a>
      {GROUPS.map(({ title, entries }) => (
        <div key={title} class="group">
          <h2>{title}</h2>
          {entries.map(({ path: to, name }) =>
            name === undefined ? null : (
              <a key={to} href={`#${to}`} aria-current={isHere(to) ? 'page' : undefined}>
                {name}
              </a>
            ),
          )}
        </div>
      ))}
      <div class="group">
        <h2>For programs</h2>
        <a href="/docs">API reference</a>
      </div>
    </nav>
  );
}

function Who() {
  const [, go] = useLocation();
  const { value } = login;
  if (value === null) {
    return (
      <p class="who row">
        <a href="#/login">Log in</a>
        <a href="#/register">Register</a>
      </p>
    );
  }
  const { email, nickname } = value.wallet;
  const leave = (): void => {
    forgetVisits();
    go('/');
    void logOut().catch(() => {});
  };
  return (
    <p class="who row">
      <a href="#/wallet" title={email}>
        <bdi>{nickname ?? email}</bdi>
      </a>
      {value.signing === null ? <span class="state pending">reads only</span> : null}
      <button type="button" class="small" onClick={leave}>
        Log out
      </button>
    </p>
  );
}

/** What every page says while the service accepts no changes. */
function Banner() {
  const { value } = ready;
  if (value === null || value.status === 'ready') return null;
  return (
    <div class="banner" role="alert">
      <p>
        <strong>The service accepts no changes:</strong> <Stored text={value.reason ?? 'it is read-only'} />. Reading and checking work.
      </p>
    </div>
  );
}

/** The button of the search, and the search, which Ctrl-K and ⌘K open too. */
function Finder() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
      event.preventDefault();
      setOpen(true);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  const shortcut = navigator.userAgent.includes('Mac') ? '⌘K' : 'Ctrl K';
  const button = useRef<HTMLButtonElement>(null);
  const onClose = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    <>
      <button ref={button} type="button" class="finder" aria-keyshortcuts="Control+K Meta+K" onClick={() => setOpen(true)}>
        <svg aria-hidden="true" viewBox="0 0 16 16" width="16" height="16">
          <circle cx="7" cy="7" r="4.5" />
          <path d="M10.5 10.5L14 14" />
        </svg>
        <span class="label">Search</span>{' '}
        <kbd>{shortcut}</kbd>
      </button>
      {isOpen ? (
        <Suspense fallback={null}>
          <Search pages={NAMED} onClose={onClose} />
        </Suspense>
      ) : null}
    </>
  );
}

function Frame() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    if (!isOperators) watchReady();
  }, []);
  const toggle = useRef<HTMLButtonElement>(null);
  const main = useRef<HTMLElement>(null);
  const close = ({ key }: KeyboardEvent): void => {
    if (!isOpen || key !== 'Escape') return;
    setOpen(false);
    toggle.current?.focus();
  };
  return (
    <div class={isOpen ? 'frame open' : 'frame'} onKeyDown={close}>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the page
      </button>
      <header>
        <button ref={toggle} type="button" class="toggle" aria-expanded={isOpen} aria-controls="menu" onClick={() => setOpen(!isOpen)}>
          Menu
        </button>
        <a class="name" href={isOperators ? '#/operator' : '#/'}>
          <img src={`${import.meta.env.BASE_URL}anchor.svg`} alt="" width="22" height="22" />
          Kedge
        </a>
        {isOperators ? null : <Finder />}
        {isOperators ? null : <Who />}
      </header>
      <Banner />
      <div class="side" id="menu">
        <Menu onChoice={() => setOpen(false)} />
      </div>
      <main ref={main} tabIndex={-1}>
        <Barrier>
          <Suspense fallback={<p class="faint">Loading…</p>}>
            <Switch>
              <Route path="/" component={Home} />
              <Route path="/login" component={LogIn} />
              <Route path="/register" component={Register} />
              {[OPERATOR, ...GROUPS.flatMap(({ entries }) => entries)].map((entry) => (
                <Route key={entry.path} path={entry.path}>
                  {(parameters: object) => shown(entry, parameters)}
                </Route>
              ))}
              <Route>
                <Page title="No such page" isListed={false}>
                  <p>
                    <a href="#/">To the overview</a>
                  </p>
                </Page>
              </Route>
            </Switch>
          </Suspense>
        </Barrier>
      </main>
    </div>
  );
}

export function App() {
  return (
    <Router hook={usePath}>
      <Frame />
    </Router>
  );
}
