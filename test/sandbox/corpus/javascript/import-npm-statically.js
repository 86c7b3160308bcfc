import pad from "npm:left-pad@1.3.0";
console.log(`ESCAPED ${pad("x", 3)}`);
