import { useState } from "react";
import { Card, Code, Tabs } from "../../ui/index.ts";
import { mcpHosts } from "./mcp-hosts.ts";

/** Adds the gateway to an MCP host. */
export function McpHostCard({ baseUrl }: { baseUrl: string }) {
  const hosts = mcpHosts(baseUrl);
  const [selected, setSelected] = useState("claude");
  const host = hosts.find(({ id }) => id === selected);
  if (!host) return null;
  return (
    <Card title="Add to an MCP host" note="All tools of the gateway">
      <Tabs label="MCP host" tabs={hosts} current={selected} onChange={setSelected}>
        {host.link !== undefined && (
          <div>
            <a className="button button-plain" href={host.link}>
              Add to {host.label}
            </a>
          </div>
        )}
        <Code text={host.text} label={`${host.label} configuration`} />
        <p className="hint">{host.hint}</p>
      </Tabs>
    </Card>
  );
}
