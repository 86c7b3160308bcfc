import "./styles/index.css";

const root = document.querySelector("#root");
if (root) {
  if (root.firstElementChild) await painted();
  const { start } = await import("./start.tsx");
  start(root);
}

/** Resolves when the browser has shown what the page came with. A background tab is not shown. */
function painted(): Promise<void> {
  return new Promise((resolve) => {
    new PerformanceObserver(() => resolve()).observe({ type: "paint", buffered: true });
    setTimeout(resolve, 500);
  });
}
