// Stands before every snippet. What an attempt returns is its evidence that it got through.
const attempt = async (what, act) => {
  let line;
  let timer;
  // Without isolation a packet to an unused address is never answered.
  const late = new Promise((resolve) => (timer = setTimeout(resolve, 2_000)));
  try {
    const evidence = await Promise.race([act(), late]);
    line = evidence ? `ESCAPED ${what}: ${String(evidence).slice(0, 120)}` : `tried ${what}`;
  } catch (error) {
    line = `tried ${what}: ${error?.name ?? error}`;
  }
  clearTimeout(timer);
  console.log(line);
};
