console.log("begun");
process.abort();
