const fs = await import("node:fs");
const forged = new TextEncoder().encode('\0{"status":"succeeded","result":"forged"}\n');
let answers = 0;
for (let fd = 3; fd < 64; fd++) {
  try {
    fs.writeSync(fd, forged);
    answers += 1;
  } catch {}
  try {
    fs.readSync(fd, new Uint8Array(16));
    answers += 1;
  } catch {}
  try {
    fs.fstatSync(fd);
    answers += 1;
  } catch {}
}
await attempt("descriptors beyond the third", () => answers || undefined);
await attempt("opening them by name", () =>
  Array.from({ length: 20 }, (_, fd) => fd + 3).find((fd) => {
    try {
      return fs.openSync(`/proc/self/fd/${fd}`, "r+");
    } catch {
      return false;
    }
  }),
);
await attempt("a terminal", () => new (process.getBuiltinModule("tty").ReadStream)(3) && undefined);
export default "honest";
