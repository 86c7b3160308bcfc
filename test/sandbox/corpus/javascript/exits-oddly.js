console.log("begun");
process.reallyExit(139);
