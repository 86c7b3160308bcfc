export default JSON.parse(
  '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"status":"failed","toJSON":1}',
);
