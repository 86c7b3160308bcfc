console.log("started");
const again = () => Promise.resolve().then(again);
await again();
