/** Frame of a page: its title, and the focus, which follows the route for keyboards and screen readers. */

import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { login } from '../session';
import { visited } from '../visited';
import { Notice } from './notices';

/** False until the first page has opened, which takes no focus. */
let isOpened = false;

/** A page with its title. `isListed`: the search offers it among the recent pages. */
export function Page({ title, lead, isListed = true, children }: { title: string; lead?: ComponentChildren; isListed?: boolean; children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Kedge console`;
    visited(title, isListed);
    if (isOpened) heading.current?.focus({ preventScroll: true });
    isOpened = true;
    scrollTo(0, 0);
  }, [title]);
  return (
    <>
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {lead ? <p class="lead">{lead}</p> : null}
      {children}
    </>
  );
}

/** A section of a page with a heading. */
export function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** Content shown only to users who can sign. */
export function Signed({ children }: { children: ComponentChildren }) {
  if (login.value?.signing != null) return <>{children}</>;
  return (
    <Notice kind="plain">
      Changes are signed. You are logged in without a key: <a href="#/wallet">add your key</a> to make some.
    </Notice>
  );
}
