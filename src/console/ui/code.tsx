import { CopyButton } from "./copy-button.tsx";

/** A block of text to be copied, e.g. a command: `label` says what it is. It scrolls sideways inside its box unless it may `wrap`. */
export function Code({ text, label, wrap = false }: { text: string; label: string; wrap?: boolean }) {
  return (
    <div className="code">
      {/* A box that scrolls has to be reachable by keyboard. */}
      <pre className={wrap ? "wrap" : undefined} tabIndex={0} aria-label={label} role="region">
        {text}
      </pre>
      <CopyButton text={text} label={label} />
    </div>
  );
}
