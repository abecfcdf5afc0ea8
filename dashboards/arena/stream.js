// A chat completion as it streams: server-sent events in, objects out. It knows no page.

// What went wrong, in words for the reader; `needsKey` where the server asks for one.
export class Failure extends Error {
  constructor(message, needsKey = false) {
    super(message);
    this.needsKey = needsKey;
  }
}

export async function* chunks(address, body, key, signal) {
  const response = await ask(address, body, key, signal);
  let ended = false;
  for await (const data of events(response.body)) {
    if (data === "[DONE]") { ended = true; break; }
    const chunk = JSON.parse(data);
    if (chunk.error) throw new Failure(chunk.error.message);
    yield chunk;
  }
  if (!ended) throw new Failure("The connection was lost before the answer was complete. Is the server still running?");
}

async function ask(address, body, key, signal) {
  const headers = { "Content-Type": "application/json" };
  if (key) headers.Authorization = `Bearer ${key}`;
  let response;
  try {
    response = await fetch(address, { method: "POST", headers, body: JSON.stringify(body), signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure("The server cannot be reached. Is it still running?");
  }
  if (response.ok) return response;
  const told = await response.json().then((answer) => answer.error.message, () => `status ${response.status}`);
  if (response.status === 401 || response.status === 403) throw new Failure(`This server wants an API key: ${told}`, true);
  if (response.status !== 429) throw new Failure(`Refused: ${told}`);
  const wait = response.headers.get("Retry-After");
  throw new Failure(`The server is busy: ${told}.${wait ? ` Try again in ${wait} s.` : " Try again in a moment."}`);
}

// The data of every event; a stream that breaks off ends here as one that ends.
async function* events(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    let piece;
    try {
      piece = await reader.read();
    } catch (error) {
      if (error.name === "AbortError") throw error;
      return;
    }
    if (piece.done) return;
    const whole = (waiting + piece.value).split("\n\n");
    waiting = whole.pop();
    for (const event of whole) if (event.startsWith("data: ")) yield event.slice(6);
  }
}
