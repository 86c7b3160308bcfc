const thrown = new Error("x");
Object.defineProperty(thrown, "message", {
  get() {
    throw thrown;
  },
});
Object.defineProperty(thrown, "name", {
  value: {
    toString() {
      throw thrown;
    },
  },
});
Object.defineProperty(thrown, "stack", {
  get() {
    return { toString: () => "y".repeat(1 << 24) };
  },
});
throw thrown;
