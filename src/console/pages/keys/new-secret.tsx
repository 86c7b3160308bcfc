import { useEffect, useRef, useState } from "react";
import { useCatalogue } from "../../rpc.ts";
import { useSignedIn } from "../../session.tsx";
import { Button, Code, Note, Tabs } from "../../ui/index.ts";
import { clearUnsavedSecret, type UnsavedSecret } from "../../unsaved-secret.ts";
import { firstCallFor } from "./first-call.ts";

type Use = "curl" | "mcp";

const USES = [
  { id: "curl", label: "Try it with curl" },
  { id: "mcp", label: "Add it to an MCP client" },
] as const;

/** Shows a new secret once. Only its button closes it: neither Esc nor navigation does. */
export function NewSecret({ secret: key }: { secret: UnsavedSecret }) {
  const { name, secret } = key;
  const { installation } = useSignedIn();
  const catalogue = useCatalogue();
  const call = firstCallFor(key, catalogue.data?.tools ?? []);
  const [use, setUse] = useState<Use>("curl");
  const box = useRef<HTMLElement>(null);
  useEffect(() => box.current?.focus(), [secret]);
  return (
    <section className="new-secret" tabIndex={-1} ref={box} aria-labelledby="new-secret-title">
      <div>
        <h2 id="new-secret-title">Save the key “{name}” now</h2>
        <p className="soft">
          It is shown only once. The gateway stores only a hash and cannot show it again.
        </p>
      </div>
      <Code text={secret} label="API key" wrap />
      <Tabs label="How to use it" tabs={USES} current={use} onChange={setUse}>
        {use === "curl" ? (
          <Code text={curlOf(installation.baseUrl, secret, JSON.stringify(call))} label="curl command" />
        ) : (
          <Code text={mcpOf(installation.baseUrl, secret)} label="MCP configuration" />
        )}
      </Tabs>
      <Note tone="warn">
        Anyone with this key can spend your balance within its limits. Store it where only your agent can read
        it.
      </Note>
      <div className="actions">
        <Button tone="primary" icon="check" onClick={clearUnsavedSecret}>
          I have saved it
        </Button>
      </div>
    </section>
  );
}

function curlOf(baseUrl: string, secret: string, call: string): string {
  return [
    `curl -i ${baseUrl}/v1/mcp/tools/call \\`,
    `  -H 'Authorization: Bearer ${secret}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${call.replaceAll("'", String.raw`'\''`)}'`,
  ].join("\n");
}

function mcpOf(baseUrl: string, secret: string): string {
  const toolgate = { type: "http", url: `${baseUrl}/mcp`, headers: { Authorization: `Bearer ${secret}` } };
  return JSON.stringify({ mcpServers: { toolgate } }, undefined, 2);
}
