import { Suspense, useEffect, useState } from "react";
import { lazyComponent } from "./lazy-component.ts";
import { PageErrorBoundary } from "./page-error-boundary.tsx";
import { Button } from "./ui/index.ts";

const Finder = lazyComponent<"Finder", { open: boolean; onClose: () => void }>(
  () => import("./finder.tsx"),
  "Finder",
);

/** Opens the finder; so does Ctrl-K or Cmd-K on every page. */
export function FinderButton({ location }: { location: string }) {
  const [open, setOpen] = useState(false);
  // Its code loads on first use, and the dialog then stays to return the focus when it closes.
  const [used, setUsed] = useState(false);
  const show = () => {
    setUsed(true);
    setOpen(true);
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
      if (event.altKey || event.shiftKey) return;
      event.preventDefault();
      // Another dialog may hold text that is not saved.
      if (document.querySelector("dialog[open]") === null) show();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return (
    <div className="finder">
      <Button small icon="search" aria-keyshortcuts="Control+K Meta+K" onClick={show}>
        Find
        <kbd aria-hidden="true">Ctrl K</kbd>
      </Button>
      {used && (
        <PageErrorBoundary location={location}>
          <Suspense fallback={null}>
            <Finder open={open} onClose={() => setOpen(false)} />
          </Suspense>
        </PageErrorBoundary>
      )}
    </div>
  );
}
