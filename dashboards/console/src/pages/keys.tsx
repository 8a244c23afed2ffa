/** API keys: list, creation with permissions, rotation and deletion. */

import type { Schemas } from '@kedge/sdk';
import { useState } from 'preact/hooks';
import { useDoing, usePaging } from '../loading';
import { neededOf, textOf } from '../fields';
import { Field, Form, Outcome, Sure } from '../pieces/forms';
import { List } from '../pieces/lists';
import { Page, Part, Signed } from '../pieces/page';
import { Ago } from '../pieces/ago';
import { Secret } from '../pieces/secret';
import { Stored, Time } from '../pieces/text';
import { login, reader } from '../session';

const AREAS = ['objects', 'templates', 'actions', 'events', 'files', 'webhooks', 'batches', 'wallets', 'api_keys'] as const;
const RIGHTS = ['create', 'read', 'update', 'delete'] as const;

/** Permissions as text, such as `objects: read, update`. */
const rightsOf = (permissions: readonly Schemas['Permission'][]): string[] =>
  permissions.map(({ resource, crud }) => `${resource}: ${RIGHTS.filter((right) => crud[right]).join(', ')}`);

function Rights() {
  return (
    <fieldset>
      <legend>What it may do</legend>
      <div class="table" role="region" aria-label="Rights" tabIndex={0}>
        <table class="rights">
          <thead>
            <tr>
              <td />
              {RIGHTS.map((right) => (
                <th key={right} scope="col">
                  {right}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {AREAS.map((area) => (
              <tr key={area}>
                <th scope="row">{area.replace('_', ' ')}</th>
                {RIGHTS.map((right) => (
                  <td key={right} data-name={right}>
                    <input type="checkbox" name={`${area}.${right}`} aria-label={`${area.replace('_', ' ')}: ${right}`} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </fieldset>
  );
}

/** Permissions granted by the form. */
function permissionsOf(form: FormData): Schemas['WantedPermission'][] {
  const granted = AREAS.map((resource) => ({
    resource,
    crud: Object.fromEntries(RIGHTS.filter((right) => form.get(`${resource}.${right}`) !== null).map((right) => [right, true])),
  }));
  return granted.filter(({ crud }) => Object.keys(crud).length > 0);
}

/** The API keys. */
export function Keys() {
  const [turn, setTurn] = useState(0);
  const [secret, setSecret] = useState<string | null>(null);
  const keys = usePaging(() => reader().listApiKeys({ limit: 100, order: 'desc' }), [turn]);
  const show = ({ key }: { key: string }): void => {
    setSecret(key);
    setTurn((old) => old + 1);
  };
  const making = useDoing(async (form: FormData) => {
    changing.clear();
    const permissions = permissionsOf(form);
    if (permissions.length === 0) throw new Error('Grant at least one right.');
    const until = textOf(form, 'expires_at');
    const expires = until === null ? {} : { expires_at: new Date(until).toISOString() };
    show(await reader().createApiKey({ name: neededOf(form, 'name', 'Name'), permissions, ...expires }));
  });
  const changing = useDoing(async (what: 'rotate' | 'delete', id: string) => {
    setSecret(null);
    if (what === 'rotate') {
      show(await reader().rotateApiKey(id, { overlap_s: 3600 }));
      return 'The key has a new secret. The old one is valid for one more hour.';
    }
    await reader().deleteApiKey(id);
    setTurn((old) => old + 1);
    return 'The key is deleted.';
  });
  const canSign = login.value?.signing !== null;
  return (
    <Page title="API keys" lead="A program’s credential, with no more rights than it needs.">
      {secret === null ? null : <Secret what="key" value={secret} />}
      <Outcome of={changing as never} />
      <List
        label="API keys"
        of={keys}
        keyOf={({ id }) => id}
        none="There are no API keys yet."
        columns={[
          { name: 'Name', show: ({ name }) => <Stored text={name} /> },
          {
            name: 'Rights',
            show: ({ permissions }) => (
              <ul class="plain">
                {rightsOf(permissions).map((text) => (
                  <li key={text}>{text}</li>
                ))}
              </ul>
            ),
          },
          { name: 'Used', show: ({ last_used_at: at }) => <Ago at={at} /> },
          { name: 'Expires', show: ({ expires_at: at }) => <Time at={at} /> },
          {
            name: 'Change',
            show: ({ id }) =>
              canSign ? (
                <div class="row">
                  <button type="button" disabled={changing.isBusy} onClick={() => void changing.run('rotate', id)}>
                    Rotate
                  </button>
                  <Sure label="Delete" question="Delete this key?" disabled={changing.isBusy} onSure={() => void changing.run('delete', id)} />
                </div>
              ) : null,
          },
        ]}
      />
      <Part title="New key">
        <Signed>
          <Form label="New key" submit="Sign and make" doing={making} onEmptied={() => {}}>
            <Field label="Name" name="name" required />
            <Field label="Expires (optional)" name="expires_at" type="datetime-local" />
            <Rights />
          </Form>
        </Signed>
      </Part>
    </Page>
  );
}
