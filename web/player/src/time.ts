// Durations as SCORM 1.2 (HHHH:MM:SS.SS) and SCORM 2004 (ISO 8601) write them, in hundredths of a second.

/** Reads a duration of either standard; undefined if it is none. Years and months count 365 and 30 days. */
export function readDuration(text: string): number | undefined {
  const clock = /^(\d{2,4}):(\d{2}):(\d{2}(?:\.\d{1,2})?)$/.exec(text);
  if (clock) return Math.round((Number(clock[1]) * 3600 + Number(clock[2]) * 60 + Number(clock[3])) * 100);
  const iso = /^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/.exec(text);
  if (!iso || text === "P" || text.endsWith("T")) return undefined;
  const [years, months, days, hours, minutes, seconds] = iso.slice(1).map((part) => Number(part ?? 0));
  const whole = (years ?? 0) * 365 + (months ?? 0) * 30 + (days ?? 0);
  return Math.round((whole * 86400 + (hours ?? 0) * 3600 + (minutes ?? 0) * 60 + (seconds ?? 0)) * 100);
}

/** Writes hundredths of a second as SCORM 1.2 does. */
export function clockDuration(hundredths: number): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const seconds = Math.floor(hundredths / 100);
  const rest = hundredths % 100;
  const hours = Math.min(Math.floor(seconds / 3600), 9999);
  const head = `${String(hours).padStart(4, "0")}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return rest === 0 ? head : `${head}.${two(rest)}`;
}

/** Writes hundredths of a second as SCORM 2004 does. */
export function isoDuration(hundredths: number): string {
  const seconds = Math.floor(hundredths / 100);
  const rest = hundredths % 100;
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  const tail = rest === 0 ? String(seconds % 60) : `${seconds % 60}.${String(rest).padStart(2, "0")}`;
  return `PT${hours > 0 ? `${hours}H` : ""}${minutes > 0 ? `${minutes}M` : ""}${tail}S`;
}
