import { useState } from "react";
import { Card, Code, Tabs, Icon } from "../../ui/index.ts";
import type { ToolCall } from "../playground/tool-call.ts";
import { snippetsOf } from "./snippets.ts";
import { Link } from "wouter";
import { useOptionalSignedIn } from "../../session.tsx";
import type { ParamTexts } from "../playground/schema.ts";
import { FORM, writeToTab } from "../playground/tab-storage.ts";

export function SnippetCard({ baseUrl, call }: { baseUrl: string; call: ToolCall }) {
  const snippets = snippetsOf(baseUrl, call);
  const [selected, setSelected] = useState("curl");
  const snippet = snippets.find(({ id }) => id === selected);
  if (!snippet) return null;
  return (
    <Card title="Call it">
      <Tabs label="Language" tabs={snippets} current={selected} onChange={setSelected}>
        {snippet.install !== undefined && <Code text={snippet.install} label="installation command" />}
        <Code text={snippet.text} label={`${snippet.label} snippet`} />
        <p className="hint">
          The key is read from <code>TOOLGATE_API_KEY</code>.
        </p>
      </Tabs>
    </Card>
  );
}

/** Opens the playground with the same parameters; strangers sign in first. */
export function PlaygroundLink({ tool, texts }: { tool: string; texts: ParamTexts }) {
  const accountId = useOptionalSignedIn()?.session.accountId;
  return (
    <Link
      className="button button-primary"
      href={`/playground?tool=${encodeURIComponent(tool)}`}
      onClick={() => {
        if (accountId !== undefined) writeToTab(`${FORM}${tool}`, accountId, texts);
      }}
    >
      <Icon name="play" />
      {accountId === undefined ? "Sign in to try it" : "Open in playground"}
    </Link>
  );
}
