/** Files: list, upload, and a single file, whose content the page verifies against the digest in the log. */

import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { textOf } from '../fields';
import { useDoing, useLoading, usePaging } from '../loading';
import { Field, Form, Outcome } from '../pieces/forms';
import { List } from '../pieces/lists';
import { Loaded } from '../pieces/notices';
import { Page, Part, Signed } from '../pieces/page';
import { Copy, Count, Fact, Facts, Hash, Ref, Stored, Time } from '../pieces/text';
import { saveAs } from '../saving';
import { reader } from '../session';

function Upload() {
  const [, go] = useLocation();
  const [chosen, setChosen] = useState<File | null>(null);
  const doing = useDoing(async (form: FormData) => {
    if (chosen === null) throw new Error('Choose a file.');
    const made = await reader().uploadFile({ file: chosen, name: textOf(form, 'name') ?? chosen.name });
    go(`/files/${made.id}`);
  });
  return (
    <Form label="Upload a file" submit="Sign and upload" doing={doing}>
      <p>The page signs the file’s digest. The log holds the digest and the name, the server the content.</p>
      <label class="button">
        Choose a file
        <input type="file" class="hidden-input" name="file" onChange={(event) => setChosen(event.currentTarget.files?.[0] ?? null)} />
      </label>
      {chosen === null ? null : (
        <p>
          <Stored text={chosen.name} />, <Count of={chosen.size} /> bytes
        </p>
      )}
      <Field label="Name (optional)" name="name" hint="The file’s own name if empty." />
    </Form>
  );
}

/** The files of the organization. */
export function Files() {
  const files = usePaging(() => reader().listFiles({ limit: 50, order: 'desc' }), []);
  return (
    <Page title="Files" lead="Contents whose digests are in the log. A file never changes.">
      <List
        label="Files"
        of={files}
        keyOf={({ id }) => id}
        none="There are no files yet."
        columns={[
          {
            name: 'Name',
            show: ({ id, name }) => (
              <a href={`#/files/${id}`}>
                <Stored text={name} />
              </a>
            ),
          },
          { name: 'Id', show: ({ id }) => <Ref id={id} /> },
          { name: 'Type', show: ({ media_type: type }) => <Stored text={type} /> },
          { name: 'Bytes', show: ({ size_bytes: size }) => <Count of={size} />, isNumber: true },
          { name: 'Uploaded', show: ({ created_at: at }) => <Time at={at} /> },
        ]}
      />
      <Part title="Upload">
        <Signed>
          <Upload />
        </Signed>
      </Part>
    </Page>
  );
}

/** One file. */
export function OneFile({ id }: { id: string }) {
  const file = useLoading(() => reader().getFile(id), [id]);
  const saving = useDoing(async (name: string, digest: string) => {
    const answer = await reader().getFileContent(id);
    const bytes = new Uint8Array(await answer.arrayBuffer());
    const { sha256 } = await import('viem/utils');
    if (sha256(bytes) !== digest) throw new Error('The content does not match the digest in the log. It is not saved; do not rely on it.');
    saveAs(name, new Blob([bytes], { type: 'application/octet-stream' }));
    return 'The content matches the digest in the log, and was saved.';
  });
  return (
    <Page title="File">
      <Loaded of={file}>
        {(of) => (
          <>
            <Facts>
              <Fact name="Name">
                <Stored text={of.name} />
              </Fact>
              <Fact name="Id">
                <Hash value={of.id} whole /> <Copy text={of.id} what="the id" />
              </Fact>
              <Fact name="Type">
                <Stored text={of.media_type} />
              </Fact>
              <Fact name="Bytes">
                <Count of={of.size_bytes} />
              </Fact>
              <Fact name="SHA-256">
                <Hash value={of.sha256} whole /> <Copy text={of.sha256} what="the digest" />
              </Fact>
              <Fact name="Uploaded by">
                <Hash value={of.wallet_id} whole />
              </Fact>
              <Fact name="Uploaded">
                <Time at={of.created_at} />
              </Fact>
              <Fact name="Sequence">
                <Count of={of.sequence} />
              </Fact>
            </Facts>
            <p class="row">
              <button type="button" disabled={saving.isBusy} onClick={() => void saving.run(of.name, of.sha256)}>
                {saving.isBusy ? 'Working…' : 'Check and save'}
              </button>
            </p>
            <Outcome of={saving as never} />
          </>
        )}
      </Loaded>
    </Page>
  );
}
