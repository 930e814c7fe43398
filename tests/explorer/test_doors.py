"""Who is let in: only our own pages change or read anything."""

from __future__ import annotations

from pathlib import Path

import fitted_project
import pytest
from fastapi.testclient import TestClient

from mediarank.explorer.app import create_app
from mediarank.explorer.doors import COOKIE, Doors


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1:9999", "127.0.0.1.evil.example:8765", ""]
)
def test_a_foreign_host_is_refused(client: TestClient, host: str) -> None:
    answer = client.get("/", headers={"Host": host})
    assert answer.status_code == 421
    assert "fire" not in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:4200"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
    ],
)
def test_other_pages_neither_read_nor_change(client: TestClient, headers: dict[str, str]) -> None:
    assert client.get("/", headers=headers).status_code == 403
    answer = client.post("/renew", headers=headers)
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


def test_a_link_from_another_page_may_be_followed(client: TestClient) -> None:
    assert client.get("/", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}).status_code == 200


def test_a_change_needs_the_token_of_the_page(client: TestClient, doors: Doors) -> None:
    assert client.post("/renew", data={"token": "guessed"}).status_code == 400
    assert client.post("/renew").status_code == 400
    assert client.post("/renew", data={"token": doors.page_token}, follow_redirects=False).status_code == 303
    assert client.put("/renew").status_code == 405


def test_headers_keep_pages_to_themselves(client: TestClient) -> None:
    answer = client.get("/")
    policy = answer.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe-inline" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "<script>" not in answer.text
    assert "onclick" not in answer.text
    assert "style=" not in answer.text


def test_another_address_than_loopback_asks_for_its_token(explored: Path) -> None:
    doors = Doors("192.0.2.7", 8765)
    app = create_app(explored, doors, lambda: fitted_project.COPYING)
    with TestClient(app, base_url="http://192.0.2.7:8765") as client:
        assert client.get("/").status_code == 401
        assert client.get("/", params={"access": "guessed"}).status_code == 401
        welcome = client.get("/", params={"access": doors.access}, follow_redirects=False)
        assert welcome.status_code == 303
        assert "httponly" in welcome.headers["set-cookie"].lower()
        assert client.cookies.get(COOKIE) == doors.access
        assert client.get("/").status_code == 200
        assert client.get("/", headers={"Host": "127.0.0.1:8765"}).status_code == 421
    assert doors.access in doors.address
