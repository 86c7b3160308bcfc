// Stands before every snippet. What an attempt returns is its evidence that it got through.
const attempt = async (what, act) => {
  let line;
  try {
    const evidence = await act();
    line = evidence ? `ESCAPED ${what}: ${String(evidence).slice(0, 120)}` : `tried ${what}`;
  } catch (error) {
    line = `tried ${what}: ${error?.name ?? error}`;
  }
  console.log(line);
};
