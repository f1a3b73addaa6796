"""Pages that the build writes: claims, errata, status."""


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a Markdown table; bars inside cells stay bars."""
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines] + [""]
