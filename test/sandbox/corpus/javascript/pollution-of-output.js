console.log("said before");
Deno.stdout.writeSync = Deno.stdout.write = () => 0;
Deno.stderr.writeSync = () => {
  throw new Error("no");
};
delete globalThis.Deno;
globalThis.process = undefined;
Function.prototype.call = Function.prototype.apply = function () {
  return "forged";
};
Uint8Array.prototype.set = Uint8Array.prototype.subarray = () => {
  throw new Error("no");
};
Object.freeze = Object.keys = () => {
  throw new Error("no");
};
export default "honest";
