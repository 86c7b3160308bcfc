console.log("begun");
const again = () => Promise.resolve().then(again);
await again();
