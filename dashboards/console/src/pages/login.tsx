/** Registration and login, with a key in the page or a browser wallet. */

import { generateKey } from '@kedge/sdk';
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { useDoing } from '../loading';
import { neededOf, textOf } from '../fields';
import { Field, Form, PASSWORD_LENGTH_MIN, PASSWORD_RULE, Tick } from '../pieces/forms';
import { Page } from '../pieces/page';
import { type Signing, logIn, login, register } from '../session';
import { whereWanted } from '../visited';
import { NewKey, Signer, type SignerChoice, signingOf } from '../pieces/signer';

const KEEP = {
  name: 'keep',
  label: 'Keep login and key in this tab until it is closed',
  hint: 'Otherwise both are only in memory, and a reload of the page forgets them. Kept, they are in the tab’s sessionStorage, where any script of this origin could read them.',
};

/** Registration of a new wallet. */
export function Register() {
  const [, go] = useLocation();
  const [isInvited, setInvited] = useState(false);
  const [choice, setChoice] = useState<SignerChoice>('new');
  const [made, setMade] = useState<`0x${string}`>(generateKey);
  const doing = useDoing(async (form: FormData) => {
    const email = neededOf(form, 'email', 'E-mail');
    const password = String(form.get('password'));
    if (choice === 'new' && form.get('saved') === null) throw new Error('Save the key first, and confirm that you did: without it nobody can sign as you.');
    const signing = (await signingOf(choice, form, made)) as Signing;
    const [nickname, invitation, organization] = ['nickname', 'invitation', 'organization'].map((name) => textOf(form, name));
    const registration = {
      email,
      password,
      ...(nickname ? { nickname } : {}),
      ...(isInvited ? { organization_id: neededOf(form, 'organization_id', 'Organization'), invitation: invitation ?? '' } : {}),
      ...(!isInvited && organization ? { organization_name: organization } : {}),
    };
    await register(signing, registration as never, form.get('keep') !== null);
    go(whereWanted());
  });
  if (login.value !== null && !doing.isBusy) return <AlreadyIn />;
  return (
    <Page title="Register" lead="A wallet is an e-mail address, a password to log in, and a key that signs every change. The server never gets the key.">
      <Form label="Register" submit="Register" doing={doing}>
        <Field label="E-mail" name="email" type="email" required autoComplete="email" />
        <Field label="Password" name="password" type="password" required minLength={PASSWORD_LENGTH_MIN} autoComplete="new-password" hint={PASSWORD_RULE} />
        <Field label="Name to show (optional)" name="nickname" />
        <Tick label="I have an invitation" name="invited" checked={isInvited} onChange={(event) => setInvited(event.currentTarget.checked)} />
        {isInvited ? (
          <>
            <Field label="Organization" name="organization_id" required hint="Its id, which begins with org_." />
            <Field label="Invitation code" name="invitation" required />
          </>
        ) : (
          <Field label="Name of your organization (optional)" name="organization" />
        )}
        <Signer choice={choice} onChoice={setChoice} mayBeNew />
        {choice === 'new' ? <NewKey value={made} onAnother={() => setMade(generateKey())} /> : null}
        <Tick {...KEEP} />
      </Form>
      <p>
        Registered already? <a href="#/login">Log in</a>
      </p>
    </Page>
  );
}

/** Login form. */
export function LogIn() {
  const [, go] = useLocation();
  const [choice, setChoice] = useState<SignerChoice>('none');
  const doing = useDoing(async (form: FormData) => {
    const email = neededOf(form, 'email', 'E-mail');
    const signing = await signingOf(choice, form, null);
    await logIn(email, String(form.get('password')), signing, form.get('keep') !== null);
    go(whereWanted());
  });
  if (login.value !== null && !doing.isBusy) return <AlreadyIn />;
  return (
    <Page title="Log in">
      <Form label="Log in" submit="Log in" doing={doing}>
        <Field label="E-mail" name="email" type="email" required autoComplete="username" />
        <Field label="Password" name="password" type="password" required autoComplete="current-password" />
        <Signer choice={choice} onChoice={setChoice} mayBeNone />
        <Tick {...KEEP} />
      </Form>
      <p>
        No wallet yet? <a href="#/register">Register</a>
      </p>
    </Page>
  );
}

const AlreadyIn = () => (
  <Page title="You are logged in">
    <p>
      <a href="#/">To the overview</a>
    </p>
  </Page>
);
