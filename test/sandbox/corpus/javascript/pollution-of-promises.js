console.log("said before");
Promise.prototype.then = function () {
  return this;
};
Promise.prototype.finally = function () {
  return this;
};
Promise.resolve = () => new Promise(() => {});
globalThis.Promise = class {
  then() {}
};
globalThis.queueMicrotask = () => {};
export default 1;
