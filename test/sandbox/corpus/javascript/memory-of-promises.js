for (;;) {
  setTimeout(() => {}, 1_000_000);
  Promise.resolve(new Array(1_000).fill({}));
  globalThis.all = [globalThis.all, new Promise(() => {})];
}
