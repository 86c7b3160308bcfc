import { useState, type FormEvent } from "react";
import { formatUsd } from "../../format.ts";
import { useBlockedHint } from "../../session.tsx";
import { Button, Card, ErrorNote, Time, TextField } from "../../ui/index.ts";
import { maskSecret } from "./exchange.ts";
import { PLAYGROUND_LIMITS, usePlaygroundKey } from "./playground-key.ts";

const KEY_PATTERN = /^sk-agent-[2-4][1-9A-HJ-NP-Za-km-z]{49}$/;

export function KeyCard() {
  const { key, make, take, forget, error, busy } = usePlaygroundKey();
  const blockedHint = useBlockedHint();
  if (key) {
    return (
      <Card title="API key">
        <div className="row">
          <code>{maskSecret(key.secret)}</code>
          {key.expiresAt && (
            <span className="faint">
              expires <Time at={key.expiresAt} relative />
            </span>
          )}
          <Button small tone="quiet" onClick={forget}>
            Use another key
          </Button>
        </div>
        <p className="hint">
          {key.expiresAt
            ? "Kept in this tab until you sign out or close it."
            : "Kept in memory only; closing or reloading the page removes it."}
        </p>
      </Card>
    );
  }
  return (
    <Card title="API key">
      <p className="soft">Calls use an API key, as an agent’s calls do.</p>
      <div className="row">
        <Button tone="primary" icon="key" busy={busy} disabled={blockedHint !== undefined} onClick={make}>
          Create a temporary key
        </Button>
        {blockedHint !== undefined && <span className="hint">{blockedHint}</span>}
        <span className="hint">
          Expires in 1 hour. Limits: {formatUsd(PLAYGROUND_LIMITS.perCall)} per call,{" "}
          {formatUsd(PLAYGROUND_LIMITS.perDay)} per day.
        </span>
      </div>
      <ErrorNote error={error} />
      <PasteKeyForm onTake={take} />
    </Card>
  );
}

function PasteKeyForm({ onTake }: { onTake: (secret: string) => void }) {
  const [text, setText] = useState("");
  const [fieldError, setFieldError] = useState<string>();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const secret = text.trim();
    if (KEY_PATTERN.test(secret)) onTake(secret);
    else setFieldError("API keys start with sk-agent- and have 59 characters");
  };
  return (
    <details className="play-more">
      <summary>Use an existing key</summary>
      <form className="stack" onSubmit={submit} noValidate>
        <TextField
          label="Existing API key"
          error={fieldError}
          hint="Kept in memory only."
          type="password"
          autoComplete="off"
          placeholder="sk-agent-…"
          value={text}
          onChange={({ target }) => {
            setText(target.value);
            setFieldError(undefined);
          }}
        />
        <div>
          <Button type="submit" small>
            Use this key
          </Button>
        </div>
      </form>
    </details>
  );
}
