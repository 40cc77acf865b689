/** Converts bytes to and from the base64 texts of the protocol. */

/** Characters that are made at once: all of a large array would be too many arguments. */
const AT_ONCE = 1 << 13;

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const found = atob(text);
  const bytes = new Uint8Array(found.length);
  for (let at = 0; at < found.length; at += 1) bytes[at] = found.charCodeAt(at);
  return bytes;
}

export function toBase64(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += AT_ONCE)
    parts.push(String.fromCharCode(...bytes.subarray(at, at + AT_ONCE)));
  return btoa(parts.join(""));
}
