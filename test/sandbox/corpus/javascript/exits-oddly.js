console.log("started");
process.reallyExit(139);
