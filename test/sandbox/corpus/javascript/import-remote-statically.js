import * as remote from "http://127.0.0.1:{{port}}/module.js";
console.log(`ESCAPED ${Object.keys(remote)}`);
