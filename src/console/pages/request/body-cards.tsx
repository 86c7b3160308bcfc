import type { JsonObject } from "@bufbuild/protobuf";
import type { GetRequestResponse, LoggedRequest } from "#gen/toolgate/console/v1/request_log_service_pb.ts";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { useSignedIn } from "../../session.tsx";
import { Card, Code } from "../../ui/index.ts";
import { PlaygroundLink } from "../playground/playground-link.tsx";
import { formatValue, type ParamTexts } from "../playground/schema.ts";
import { SnippetCard } from "../tools/snippet-card.tsx";

/** What a request carried, and the same call as programs. */
export function BodyCards({ answer, request }: { answer: GetRequestResponse; request: LoggedRequest }) {
  const { params, result, stored, omitted } = answer;
  const { baseUrl } = useSignedIn().installation;
  if (!stored) {
    return (
      <Card title="Params and result">
        <p className="soft">
          Not stored. <Link href="/settings">Settings</Link> decides of which requests they are stored.
        </p>
      </Card>
    );
  }
  const { tool } = request;
  return (
    <>
      <JsonCard title="Params" value={params} tooLarge={omitted.includes("params")}>
        {tool !== "" && params && <PlaygroundLink tool={tool} texts={textsOf(params)} />}
      </JsonCard>
      {request.code === "" && (
        <JsonCard title="Result" value={result} tooLarge={omitted.includes("result")} />
      )}
      {tool !== "" && params && <SnippetCard baseUrl={baseUrl} call={{ tool, params }} />}
    </>
  );
}

function JsonCard({
  title,
  value,
  tooLarge,
  children,
}: {
  title: string;
  value: JsonObject | undefined;
  tooLarge: boolean;
  children?: ReactNode;
}) {
  return (
    <Card title={title} actions={children}>
      {value ? (
        <Code text={JSON.stringify(value, undefined, 2)} label={`${title.toLowerCase()} as JSON`} bounded />
      ) : (
        <p className="soft">{tooLarge ? "Too large to be stored." : "None, or no longer readable."}</p>
      )}
    </Card>
  );
}

/** The parameters as the texts of the playground's form. */
function textsOf(params: JsonObject): ParamTexts {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, formatValue(value)]));
}
