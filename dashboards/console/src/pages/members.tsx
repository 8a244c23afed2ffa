/** Members of the organization and their roles, and invitations. */

import type { Schemas } from '@kedge/sdk';
import { useState } from 'preact/hooks';
import { useDoing, usePaging } from '../loading';
import { textOf } from '../fields';
import { Choice, Field, Form, Outcome, Sure } from '../pieces/forms';
import { List } from '../pieces/lists';
import { Page, Part, Signed } from '../pieces/page';
import { Ago } from '../pieces/ago';
import { Secret } from '../pieces/secret';
import { Copy, Hash, State, Stored } from '../pieces/text';
import { login, reader } from '../session';

type Role = Schemas['Role'];

const ROLES = [
  ['member', 'member'],
  ['admin', 'admin'],
  ['owner', 'owner'],
] as const;

/** `isOver`: whether an invitation was used or revoked, so that its code is worth nothing. */
function Invite({ isOver, onDone }: { isOver: (id: string) => boolean; onDone: () => void }) {
  const [made, setMade] = useState<Schemas['ChangedShownInvitation'] | null>(null);
  const doing = useDoing(async (form: FormData) => {
    setMade(null);
    const email = textOf(form, 'email');
    const days = Number(form.get('days') ?? 7);
    setMade(
      await reader().inviteMember({ role: String(form.get('role')) as Role, expires_in_s: Math.round(days * 86_400), ...(email === null ? {} : { email }) }),
    );
    onDone();
  });
  return (
    <>
      <Form label="Invite" submit="Sign and invite" doing={doing} onEmptied={() => {}}>
        <Choice label="Role" name="role" options={ROLES} />
        <Field label="Only for this e-mail (optional)" name="email" type="email" />
        <Field label="Valid for days" name="days" type="number" min={1} max={90} defaultValue="7" required />
      </Form>
      {made === null || isOver(made.id) ? null : (
        <>
          <Secret what="invitation code" value={made.code} />
          <p>
            Who registers needs the organization’s id too: <Hash value={made.organization_id} whole />{' '}
            <Copy text={made.organization_id} what="the organization’s id" />
          </p>
        </>
      )}
    </>
  );
}

/** The members. */
export function Members() {
  const [turn, setTurn] = useState(0);
  const again = (): void => setTurn((old) => old + 1);
  const members = usePaging(() => reader().listMembers({ limit: 100 }), [turn]);
  const invitations = usePaging(() => reader().listInvitations({ limit: 100, order: 'desc' }), [turn]);
  const changing = useDoing(async (act: () => Promise<unknown>) => {
    await act();
    again();
    return 'Done.';
  });
  const own = login.value?.wallet;
  const mayChange = own?.role !== 'member' && login.value?.signing !== null;
  const setRole = (id: string, role: Role): void => void changing.run(() => reader().setMemberRole(id, { role, wallet_id: id }));
  return (
    <Page title="Members">
      <Outcome of={changing as never} />
      <List
        label="Members"
        of={members}
        keyOf={({ id }) => id}
        none="There are no members."
        columns={[
          {
            name: 'Member',
            show: ({ nickname, email }) => (
              <>
                <Stored text={nickname ?? email} />
                {nickname === null ? null : (
                  <p class="faint">
                    <Stored text={email} />
                  </p>
                )}
              </>
            ),
          },
          {
            name: 'Role',
            show: ({ id, role, email }) =>
              mayChange && id !== own?.id ? (
                <select aria-label={`Role of ${email}`} value={role} disabled={changing.isBusy} onChange={(event) => setRole(id, event.currentTarget.value as Role)}>
                  {ROLES.map(([value, text]) => (
                    <option key={value} value={value}>
                      {text}
                    </option>
                  ))}
                </select>
              ) : (
                role
              ),
          },
          { name: 'Key', show: ({ address }) => <Hash value={address} /> },
          { name: 'Since', show: ({ created_at: at }) => <Ago at={at} /> },
          {
            name: 'Change',
            show: ({ id }) =>
              mayChange && id !== own?.id ? (
                <Sure label="Remove" question="Remove this member?" disabled={changing.isBusy} onSure={() => void changing.run(() => reader().removeMember(id))} />
              ) : null,
          },
        ]}
      />
      <Part title="Invitations">
        <List
          label="Invitations"
          of={invitations}
          keyOf={({ id }) => id}
          none="There are no invitations."
          columns={[
            { name: 'For', show: ({ email }) => (email === null ? 'everyone with the code' : <Stored text={email} />) },
            { name: 'Role', show: ({ role }) => role },
            { name: 'State', show: (one) => <State of={one.revoked ? 'revoked' : one.used_by !== null ? 'used' : Date.parse(one.expires_at) < Date.now() ? 'expired' : 'open'} /> },
            { name: 'Expires', show: ({ expires_at: at }) => <Ago at={at} /> },
            {
              name: 'Change',
              show: ({ id, revoked, used_by: used }) =>
                revoked || used !== null || !mayChange ? null : (
                  <Sure label="Revoke" question="Revoke it?" disabled={changing.isBusy} onSure={() => void changing.run(() => reader().revokeInvitation(id))} />
                ),
            },
          ]}
        />
      </Part>
      <Part title="Invite somebody">
        <Signed>
          <Invite
            isOver={(id) => invitations.items.some((one) => one.id === id && (one.revoked || one.used_by !== null))}
            onDone={() => {
              changing.clear();
              again();
            }}
          />
        </Signed>
      </Part>
    </Page>
  );
}
