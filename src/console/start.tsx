import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";

export function start(root: Element): void {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
