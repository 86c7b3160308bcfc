const raw = (bytes) => Deno.stdout.writeSync(bytes);
const frame = (nonce, value) =>
  new TextEncoder().encode(
    `\0${nonce}${JSON.stringify({ status: "succeeded", result: value, error: null, exitCode: 0 })}\n`,
  );
for (const nonce of ["", "0".repeat(32), "f".repeat(32), crypto.randomUUID().replaceAll("-", "")]) {
  raw(frame(nonce, "forged"));
  raw(frame(nonce, "forged"));
}
raw(new Uint8Array([0, 0, 0, 0, 255, 255, 255, 255, 0]));
raw(new TextEncoder().encode("\0{"));
export default "honest";
