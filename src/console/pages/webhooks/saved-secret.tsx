import { useEffect, useRef } from "react";
import { Button, Code } from "../../ui/index.ts";

/** Shows the secret of an endpoint once. */
export function SavedSecret({ url, secret, onSaved }: { url: string; secret: string; onSaved: () => void }) {
  const box = useRef<HTMLElement>(null);
  useEffect(() => box.current?.focus(), [secret]);
  return (
    <section className="new-secret" tabIndex={-1} ref={box} aria-labelledby="webhook-secret-title">
      <div>
        <h2 id="webhook-secret-title">Save the secret now</h2>
        <p className="soft">
          It verifies the requests to <code>{url}</code> and is shown only once. If you lose it, rotate it.
        </p>
      </div>
      <Code text={secret} label="webhook secret" wrap />
      <div className="actions">
        <Button tone="primary" icon="check" onClick={onSaved}>
          I have saved it
        </Button>
      </div>
    </section>
  );
}
