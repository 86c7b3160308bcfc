import { formatDuration } from "../../format.ts";
import { Code, Status } from "../../ui/index.ts";
import type { Exchange } from "./exchange.ts";

/** A request and its response, with the key masked. */
export function ExchangeView({ exchange, open }: { exchange: Exchange; open: boolean }) {
  const { method, path, headers, body, response } = exchange;
  const answered = response.body === undefined ? "(not JSON)" : JSON.stringify(response.body, undefined, 2);
  return (
    <details className="exchange" open={open}>
      <summary>
        <code>
          {method} {path}
        </code>
        <Status kind={statusKind(response.status)}>{response.status}</Status>
        <span className="faint">{formatDuration(response.durationMs)}</span>
      </summary>
      <div className="exchange-sides">
        <div>
          <h3>Request</h3>
          <Code text={`${linesOf(headers)}\n\n${JSON.stringify(body, undefined, 2)}`} label="request" wrap />
        </div>
        <div>
          <h3>Response</h3>
          <Code
            text={`HTTP ${response.status}\n${linesOf(response.headers)}\n\n${answered}`}
            label="response"
            wrap
          />
        </div>
      </div>
    </details>
  );
}

/** Maps an HTTP status to an icon. A 402 is a quote, not an error. */
export function statusKind(status: number): "ok" | "warn" | "bad" {
  if (status < 300) return "ok";
  return status === 402 || status === 503 ? "warn" : "bad";
}

function linesOf(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(
      ([name, value]) =>
        `${name}: ${value.length > 120 ? `${value.slice(0, 100)}… (${value.length} characters)` : value}`,
    )
    .join("\n");
}
