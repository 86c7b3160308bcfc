let asked = 0;
const odd = new Proxy(
  {},
  {
    ownKeys: () => Array.from({ length: 3 }, () => `key-${asked++}`),
    getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: asked++ }),
    get: (_, name) =>
      name === "toJSON"
        ? () => {
            console.log("asked");
            return { asked: asked++ };
          }
        : asked++,
  },
);
export default odd;
