/** A secret that the server shows once. */

import { Notice } from './notices';
import { Copy } from './text';

/** A complete secret, with a button to copy it. */
export function Secret({ what, value }: { what: string; value: string | null | undefined }) {
  if (!value) return <Notice kind="plain">The {what} was shown in an earlier answer, and is not shown again.</Notice>;
  return (
    <div class="secret" role="status">
      <p>
        <strong>Save the {what} now:</strong> it is not shown again.
      </p>
      <output class="mono whole" aria-label={`The ${what}`}>
        {value}
      </output>{' '}
      <Copy text={value} what={`the ${what}`} />
    </div>
  );
}
