// How to ask the same again: as a command for a shell, and as a link to this page.
const PLACE = "@@picture@@";

// A program's arguments are limited in length, so the body goes through a pipe, and the picture into it from a file.
export function command(body, picture) {
  const address = new URL("../v1/chat/completions", import.meta.url);
  const [head, tail] = JSON.stringify(body, null, 1).split(PLACE);
  const send = `curl -s ${address} -H 'Content-Type: application/json' -d @-`;
  if (tail === undefined) return `printf %s ${quoted(head)} | ${send}`;
  const source = picture.sample ? `curl -s ${new URL(`samples/${picture.name}`, import.meta.url)}` : `cat ${quoted(picture.name)}`;
  return `{ printf %s ${quoted(head)}\n  ${source} | base64 | tr -d '\\n'\n  printf %s ${quoted(tail)}\n} | ${send}`;
}

// The request without its picture's or clip's bytes.
export function withPlace(body, media) {
  const copy = structuredClone(body);
  for (const part of copy.messages[0].content) if (part.type !== "text") part[part.type].url = `data:${media};base64,${PLACE}`;
  return copy;
}

export function link(form) {
  const address = new URL(location.href);
  address.hash = new URLSearchParams(form).toString();
  return address.href;
}

export const fromLink = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
