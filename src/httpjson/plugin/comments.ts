import type {
  DescEnum,
  DescEnumValue,
  DescField,
  DescMessage,
  DescMethod,
  DescService,
} from "@bufbuild/protobuf";
import { getComments } from "@bufbuild/protoplugin";

/** The comment above an element as Markdown: lines joined to paragraphs; empty where there is none. */
export function commentOf(
  desc: DescEnum | DescEnumValue | DescField | DescMessage | DescMethod | DescService,
): string {
  const { leading = "" } = getComments(desc);
  const paragraphs = leading.split(/\n\s*\n/).map((lines) =>
    lines
      .trim()
      .split(/\s*\n\s*/)
      .join(" "),
  );
  return paragraphs.filter((paragraph) => paragraph !== "").join("\n\n");
}

/** The first sentence of a text, without its full stop. */
export function firstSentence(text: string): string {
  const [paragraph = ""] = text.split("\n\n");
  return (/^.*?[.](?=\s|$)/.exec(paragraph)?.[0] ?? paragraph).replace(/\.$/, "");
}
