// Prerequisites of SCORM 1.2: an expression in AICC's form over the status of other activities.
//
// Source: SCORM 1.2 CAM §2.3.2.5 (adlcp:prerequisites), AICC CMI guidelines appendix A.

/** Status words by their first letter, which is how the expressions may shorten them. */
const WORDS = ["passed", "completed", "failed", "incomplete", "browsed", "not attempted"];

/** Whether an expression is met. `status` gives an activity's `lesson_status`. What cannot be read is met:
 *  a mistake in a manifest closes nothing. */
export function isMet(expression: string, status: (id: string) => string): boolean {
  const tokens = expression.match(/<>|[()&|~=,*{}]|"[^"]*"|[^\s()&|~=<>,*{}"]+/g) ?? [];
  let at = 0;
  const peek = () => tokens[at];
  const take = (wanted?: string): string => {
    const token = tokens[at];
    if (token === undefined || (wanted !== undefined && token !== wanted)) throw new Error("no such expression");
    at += 1;
    return token;
  };
  const isDone = (id: string) => ["passed", "completed"].includes(status(id));

  const any = (): boolean => {
    let met = all();
    while (peek() === "|") {
      take();
      met = all() || met;
    }
    return met;
  };
  const all = (): boolean => {
    let met = one();
    while (peek() === "&") {
      take();
      met = one() && met;
    }
    return met;
  };
  const one = (): boolean => {
    if (peek() === "~") {
      take();
      return !one();
    }
    if (peek() === "(") {
      take();
      const met = any();
      take(")");
      return met;
    }
    const id = take();
    if (peek() === "*") return some(Number(id));
    if (peek() !== "=" && peek() !== "<>") return isDone(id);
    const wanted = take() === "=";
    return (status(id) === word(take())) === wanted;
  };
  const some = (least: number): boolean => {
    take("*");
    take("{");
    let met = one() ? 1 : 0;
    while (peek() === ",") {
      take();
      met += one() ? 1 : 0;
    }
    take("}");
    return met >= least;
  };
  try {
    const met = any();
    return at < tokens.length || met;
  } catch {
    return true;
  }
}

function word(text: string): string {
  const plain = text.replaceAll('"', "").trim().toLowerCase();
  return WORDS.find((known) => known === plain || known[0] === plain) ?? plain;
}
