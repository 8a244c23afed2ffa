/** Pictures in uploaded files. They are drawn from bytes that match the digest in the log, and are never a page's address. */

/** Larger files are not shown. */
const BYTES_MAX = 2 * 1024 * 1024;
/** A small file can hold a picture that takes gigabytes. */
const PIXELS_MAX = 16_000_000;

interface Size {
  readonly width: number;
  readonly height: number;
}

/** The size in the frame of a JPEG file. */
function jpegSize(view: DataView): Size | null {
  for (let at = 2; at + 9 <= view.byteLength; at += 2 + view.getUint16(at + 2)) {
    if (view.getUint8(at) !== 0xff) return null;
    const marker = view.getUint8(at + 1);
    // The frame headers: C0 to CF, without the tables C4, C8 and CC.
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
  }
  return null;
}

/** The size that a picture's header names; null if it is no PNG, GIF or JPEG. */
export function sizeOf(bytes: Uint8Array): Size | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 24) return null;
  if (view.getUint32(0) === 0x89504e47) return { width: view.getUint32(16), height: view.getUint32(20) };
  if (view.getUint32(0) === 0x47494638) return { width: view.getUint16(6, true), height: view.getUint16(8, true) };
  return view.getUint16(0) === 0xffd8 ? jpegSize(view) : null;
}

/** Whether a file may hold a picture that the page shows. */
export const mayBePicture = (type: string, bytes: number): boolean => /^image\/(png|gif|jpeg)$/.test(type) && bytes <= BYTES_MAX;

/** Draws a picture, not larger than `most` pixels on a side. */
export async function drawn(bytes: Uint8Array<ArrayBuffer>, canvas: HTMLCanvasElement, most: number): Promise<void> {
  const size = sizeOf(bytes);
  if (size === null) throw new Error('The file holds no PNG, GIF or JPEG picture.');
  if (size.width * size.height > PIXELS_MAX) throw new Error('The picture is too large to be shown here: save the file, and open it elsewhere.');
  const picture = await createImageBitmap(new Blob([bytes]));
  const scale = Math.min(1, most / Math.max(picture.width, picture.height));
  canvas.width = Math.max(1, Math.round(picture.width * scale));
  canvas.height = Math.max(1, Math.round(picture.height * scale));
  canvas.getContext('2d')?.drawImage(picture, 0, 0, canvas.width, canvas.height);
  picture.close();
}
