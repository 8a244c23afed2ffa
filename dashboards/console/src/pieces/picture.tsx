/** A property that holds the id of an uploaded file: its page, and its picture if it is one. */

import { useRef, useState } from 'preact/hooks';
import { useDoing, useLoading } from '../loading';
import { drawn, mayBePicture } from '../picture';
import { reader } from '../session';
import { Outcome } from './forms';
import { Ref, Stored } from './text';

/** Pixels on the longer side, twice as many as are seen, for sharp screens. */
const SIDE_MAX = 640;

/** A file by its id. A picture is loaded when its button is pressed, and shown if it matches the digest in the log. */
export function FileValue({ id }: { id: string }) {
  const file = useLoading(() => reader().getFile(id), [id]);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [isShown, setShown] = useState(false);
  const doing = useDoing(async (digest: string) => {
    const answer = await reader().getFileContent(id);
    const bytes = new Uint8Array(await answer.arrayBuffer());
    const { sha256 } = await import('viem/utils');
    if (sha256(bytes) !== digest) throw new Error('The content does not match the digest in the log. It is not shown; do not rely on it.');
    if (canvas.current !== null) await drawn(bytes, canvas.current, SIDE_MAX);
    setShown(true);
  });
  const { value } = file;
  const isPicture = value !== null && mayBePicture(value.media_type, value.size_bytes);
  return (
    <>
      <Ref id={id} /> {value === null ? null : <Stored text={value.name} />}
      {isPicture ? (
        <>
          <canvas ref={canvas} class="picture" role="img" aria-label={value.name} hidden={!isShown} />
          {isShown ? null : (
            <p>
              <button type="button" class="small" disabled={doing.isBusy} onClick={() => void doing.run(value.sha256)}>
                Show the picture
              </button>
            </p>
          )}
          <Outcome of={doing as never} />
        </>
      ) : null}
    </>
  );
}
