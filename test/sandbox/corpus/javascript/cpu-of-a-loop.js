console.log("started");
for (;;);
