console.log("before");
for (const stream of [Deno.stdin, Deno.stdout, Deno.stderr]) {
  try {
    stream.close();
  } catch {}
}
const fs = await import("node:fs");
for (const fd of [0, 1, 2, 3, 4, 5]) {
  try {
    fs.closeSync(fd);
  } catch {}
}
export default "honest";
