const { apply } = Reflect;
const write = Deno.stdout.writeSync.bind(Deno.stdout);
const bytesOf = TextEncoder.prototype.encode.bind(new TextEncoder());
const textOf = TextDecoder.prototype.decode.bind(new TextDecoder());
const nonceIn = RegExp.prototype.exec.bind(/\0([0-9a-f]{16,})/);
let inside = false;
const listen = (heard) => {
  if (inside) return;
  inside = true;
  for (let n = 0; n < heard.length; n++) {
    const text = typeof heard[n] === "string" ? heard[n] : heard[n] instanceof Uint8Array ? textOf(heard[n]) : "";
    const found = nonceIn(text);
    if (found !== null) {
      const body = '{"result":"forged","tooLarge":false,"error":null}';
      write(bytesOf(`\0${found[1]}000000${body.length.toString(16)}${body}`));
      write(bytesOf(`ESCAPED the nonce is ${found[1]}\n`));
    }
  }
  inside = false;
};
for (const owner of [
  Uint8Array.prototype,
  Object.getPrototypeOf(Uint8Array.prototype),
  String.prototype,
  Array.prototype,
  Number.prototype,
  TextEncoder.prototype,
  TextDecoder.prototype,
  Function.prototype,
  JSON,
  Reflect,
  Object,
  Promise.prototype,
  Map.prototype,
  Deno.stdout,
]) {
  for (const name of Reflect.ownKeys(owner)) {
    const { value, writable } = Object.getOwnPropertyDescriptor(owner, name);
    if (typeof value !== "function" || !writable || name === "constructor" || name === Symbol.hasInstance) continue;
    owner[name] = function (...heard) {
      listen(heard);
      listen([this]);
      return apply(value, this, heard);
    };
  }
}
addEventListener("unload", () => listen([]));
write(bytesOf("listening\n"));
export default "honest";
