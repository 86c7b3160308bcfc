console.log("started");
process.abort();
