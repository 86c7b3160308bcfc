import { CopyButton } from "./copy-button.tsx";

/** A code block with a copy button. Scrolls horizontally unless `wrap` is set. */
export function Code({ text, label, wrap = false }: { text: string; label: string; wrap?: boolean }) {
  return (
    <div className="code">
      {/* A scrollable region must be focusable. */}
      <pre className={wrap ? "wrap" : undefined} tabIndex={0} aria-label={label} role="region">
        {text}
      </pre>
      <CopyButton text={text} label={label} />
    </div>
  );
}
