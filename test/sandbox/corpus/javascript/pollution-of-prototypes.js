Object.prototype.toJSON = () => "forged";
Object.prototype.status = "succeeded";
Object.prototype.then = undefined;
Object.defineProperty(Object.prototype, "result", { get: () => "forged", set() {}, configurable: true });
Array.prototype[Symbol.iterator] = function* () {
  yield "forged";
};
JSON.stringify = () => '{"status":"succeeded","result":"forged","extra":{"__proto__":{"polluted":1}}}';
JSON.parse = () => ({});
TextEncoder.prototype.encode = () => new Uint8Array(1 << 20);
String.prototype.toString = () => "forged";
throw new RangeError("thrown all the same");
