/* The model's file, and the worker in which it runs. */

/* Served by a server, the file is read with progress; opened from a disk, pages may not fetch, but may load a script. */
const fileOf = async (url, size, tell) => {
  if (!location.protocol.startsWith("http")) {
    return new Promise((done, fail) => {
      window.courseModel = (data) => (delete window.courseModel, done(data));
      const script = make("script", { src: url });
      script.onerror = () => fail(new Error("The model's file is not there."));
      script.onload = () => script.remove();
      document.head.append(script);
    });
  }
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`The model did not arrive (${answer.status}). Try again.`);
  const [reader, decoder] = [answer.body.getReader(), new TextDecoder()];
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += decoder.decode(part.value, { stream: true });
    tell(text.length / size);
  }
  return JSON.parse(text.slice(text.indexOf("(") + 1, text.lastIndexOf(")")));
};

/* A function `ask(what, given, tell)` that the worker answers. */
const startWorker = () => {
  const worker = new Worker(URL.createObjectURL(new Blob([`(${insideModel})(true)`], { type: "text/javascript" })));
  const waiting = new Map();
  let last = 0;
  worker.onmessage = ({ data }) => {
    const { done, fail, tell } = waiting.get(data.id);
    if (!data.done) return tell?.(data.share);
    waiting.delete(data.id);
    return data.error ? fail(new Error(data.error)) : done(data);
  };
  return (ask, given = {}, tell = null, transferred = []) =>
    new Promise((done, fail) => {
      waiting.set(++last, { done, fail, tell });
      worker.postMessage({ id: last, ask, ...given }, transferred);
    });
};

const loadModel = async (url, size, tell) => {
  const { numbers, ...rest } = await fileOf(url, size, tell);
  const text = atob(numbers);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const ask = startWorker();
  await ask("load", { ...rest, bytes: bytes.buffer }, null, [bytes.buffer]);
  return ask;
};
